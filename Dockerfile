# Holm as one static binary on a small image. Upstream servers that are started
# by a command need their runtime in the image: build FROM this one and add it.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/holm ./cmd/holm

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --create-home holm && install -d -o holm -g holm -m 0711 /home/holm/data
COPY --from=build /out/holm /usr/local/bin/holm
USER holm
ENV HOLM_LISTEN=0.0.0.0:4767 HOLM_DATA_DIR=/home/holm/data
EXPOSE 4767
CMD ["holm", "serve"]
