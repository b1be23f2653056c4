package slack_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"holm/bot"
	"holm/channels/slack"
	"holm/internal/testkit/slackfake"
)

// The tests start themselves a second time as a bot when this is set.
const (
	botEnv = "HOLM_TEST_SLACK_BOT"
	apiEnv = "HOLM_TEST_SLACK_API"
)

func TestMain(m *testing.M) {
	if tokens := os.Getenv(botEnv); tokens != "" {
		if err := beBot(tokens, os.Getenv(apiEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beBot runs a channel whose inbox is the standard output. It keeps what is
// said to hang for ever, so that it can be killed with work in its hands.
func beBot(tokens, api string) error {
	botToken, appToken, _ := strings.Cut(tokens, " ")
	c, err := slack.New(slack.Config{BotToken: botToken, AppToken: appToken, APIURL: api})
	if err != nil {
		return err
	}
	return c.Run(context.Background(), printer{c})
}

type printer struct{ channel *slack.Channel }

func (p printer) Store(ctx context.Context, namespace string, events ...bot.Incoming) error {
	for _, e := range events {
		if err := p.keep(ctx, namespace, e.ID, e.Payload); err != nil {
			return err
		}
	}
	return nil
}

func (p printer) keep(ctx context.Context, _, eventID string, payload json.RawMessage) error {
	ev, _, err := p.channel.Decode(payload)
	if err != nil {
		return err
	}
	fmt.Println("received", eventID, ev.Text+ev.Token)
	if ev.Text == "hang" && os.Getenv("HOLM_TEST_HANG") != "" {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (printer) LastID(context.Context, string) (int64, error) { return 0, nil }

// startBot starts a bot process and returns what it prints.
func startBot(t *testing.T, fake *slackfake.Server, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	app := fake.App(0)
	cmd.Env = append(os.Environ(), append(env, botEnv+"="+app.BotToken+" "+app.AppToken, apiEnv+"="+fake.APIURL())...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	fake.WaitSockets(0, 1)
	return cmd, bufio.NewScanner(out)
}

func TestKilledBotLosesNothing(t *testing.T) {
	s := idle(t, slackfake.Options{})
	ann := s.fake.Person("ann")
	first, heard := startBot(t, s.fake, "HOLM_TEST_HANG=1")
	mustSend(t, s.Channel, bot.Recipient{Identity: ann.Identity()}, card())

	said := ann.DM("hang")
	for heard.Scan() && !strings.HasSuffix(heard.Text(), " hang") {
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.fake.WaitSockets(0, 0)
	if why := ann.Click("Reject").Failed(); why != "nobody was connected" {
		t.Errorf("a click on a dead bot failed by %q", why)
	}

	_, heard = startBot(t, s.fake)
	said.Acked()
	ann.Click("Reject").Acked()
	var got []string
	for len(got) < 2 && heard.Scan() {
		if fields := strings.Fields(heard.Text()); len(fields) == 3 {
			got = append(got, fields[2])
		}
	}
	if strings.Join(got, " ") != "hang tok-reject" {
		t.Errorf("the second bot received %q", got)
	}
}
