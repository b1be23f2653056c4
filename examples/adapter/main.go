// Command adapter is an example of a channel that runs outside Holm: a mailbox.
// It takes cards from Holm, shows each person theirs on a web page, and brings
// what they press to Holm. It uses the standard library alone;
// docs/channel-adapters.md is the contract that it keeps.
package main

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "adapter:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:9000", "address for Holm's cards and for the pages")
	holm := flag.String("holm", "http://127.0.0.1:4767", "address of Holm")
	agent := flag.String("agent", "main", "the agent that the channel was added for")
	people := flag.String("people", "", "who has a mailbox, parted by commas")
	flag.Parse()
	secret, err := hex.DecodeString(os.Getenv("ADAPTER_SECRET"))
	if err != nil || len(secret) == 0 {
		return errors.New("ADAPTER_SECRET has to be the signing secret that holm channels add printed")
	}
	token := os.Getenv("ADAPTER_TOKEN")
	if token == "" || *people == "" {
		return errors.New("ADAPTER_TOKEN (as holm channels add printed it) and --people are required")
	}
	box := newMailbox(secret, &holmAPI{base: strings.TrimRight(*holm, "/"), token: token, agent: *agent}, strings.Split(*people, ","))
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	for _, person := range box.people() {
		fmt.Printf("%s: http://%s%s\n", person, listener.Addr(), box.page(person))
	}
	fmt.Printf("ready: cards at http://%s/holm\n", listener.Addr())
	server := &http.Server{Handler: box, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}
