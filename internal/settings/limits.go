package settings

import (
	"strconv"
	"strings"
	"time"

	"holm/internal/intake"
)

// Limits bound what callers may have of this process at one time.
type Limits struct {
	// MaxConnections bounds all connections, MaxConnectionsPerKey the requests of
	// one key that are answered at one time.
	MaxConnections       int `env:"HOLM_MAX_CONNECTIONS" yaml:"max_connections"`
	MaxConnectionsPerKey int `env:"HOLM_MAX_CONNECTIONS_PER_KEY" yaml:"max_connections_per_key"`
	// MaxBodies and MaxBodiesPerKey bound the bodies of requests in memory.
	MaxBodies       Size `env:"HOLM_MAX_BODIES" yaml:"max_bodies"`
	MaxBodiesPerKey Size `env:"HOLM_MAX_BODIES_PER_KEY" yaml:"max_bodies_per_key"`
	// MaxArgs bounds the arguments of one call.
	MaxArgs Size `env:"HOLM_MAX_ARGS" yaml:"max_args"`
	// BodyTime is how long a body may take to arrive.
	BodyTime time.Duration `env:"HOLM_BODY_TIME" yaml:"body_time"`
	// MaxAsksPerMinute bounds how many questions one requester may put.
	MaxAsksPerMinute int `env:"HOLM_MAX_ASKS_PER_MINUTE" yaml:"max_asks_per_minute"`
}

// DefaultLimits are those of a process whose settings name none.
var DefaultLimits = Limits{
	MaxConnections: 12_000, MaxConnectionsPerKey: intake.DefaultRequests,
	MaxBodies: intake.DefaultBytes, MaxBodiesPerKey: intake.DefaultBytesPerCaller,
	MaxArgs: intake.DefaultArgs, BodyTime: intake.DefaultBodyTime, MaxAsksPerMinute: 60,
}

// Intake gives the bounds to the package that keeps them.
func (l Limits) Intake() intake.Limits {
	return intake.Limits{
		Requests: l.MaxConnectionsPerKey, Bytes: int64(l.MaxBodies), BytesPerCaller: int64(l.MaxBodiesPerKey),
		Args: int(l.MaxArgs), BodyTime: l.BodyTime,
	}
}

const (
	// mostConnections is more than a process can have.
	mostConnections = 1_000_000
	// leastSize is what any request needs.
	leastSize = 1 << 10
	// mostSize is more than a machine has for it.
	mostSize = 1 << 40
	// mostBodyTime bounds HOLM_BODY_TIME: whoever takes longer sends nothing.
	mostBodyTime = 10 * time.Minute
)

func (l Limits) check() *Error {
	for _, n := range []struct {
		setting string
		value   int
	}{
		{"HOLM_MAX_CONNECTIONS", l.MaxConnections}, {"HOLM_MAX_CONNECTIONS_PER_KEY", l.MaxConnectionsPerKey},
		{"HOLM_MAX_ASKS_PER_MINUTE", l.MaxAsksPerMinute},
	} {
		if n.value < 1 || n.value > mostConnections {
			return unusable(n.setting, "want a number from 1 to %d", mostConnections)
		}
	}
	for _, n := range []struct {
		setting string
		value   Size
	}{{"HOLM_MAX_BODIES", l.MaxBodies}, {"HOLM_MAX_BODIES_PER_KEY", l.MaxBodiesPerKey}, {"HOLM_MAX_ARGS", l.MaxArgs}} {
		if n.value < leastSize || n.value > mostSize {
			return unusable(n.setting, "want a size such as 32MiB, at least 1KiB")
		}
	}
	if l.BodyTime < time.Second || l.BodyTime > mostBodyTime {
		return unusable("HOLM_BODY_TIME", "want a duration such as 30s, from 1s to %s", mostBodyTime)
	}
	return nil
}

// Size is a number of bytes. Its text form is 512, 64KiB, 32MiB or 1GiB.
type Size int64

// UnmarshalText reads the text form.
func (s *Size) UnmarshalText(text []byte) error {
	number, factor := string(text), int64(1)
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if before, ok := strings.CutSuffix(number, unit); ok {
			number, factor = before, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > mostSize/factor {
		return errSize
	}
	*s = Size(n * factor)
	return nil
}

// errSize is told under the name of the setting that has the value.
var errSize = unusable("", "want a size such as 512, 64KiB, 32MiB or 1GiB")
