package upstream_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holm/gateway/upstream"
	fix "holm/internal/testkit/upstreamfixture"
)

func rawTools(t *testing.T, c *upstream.Client) []string {
	t.Helper()
	tools, err := c.Tools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var raw []string
	for _, tool := range tools {
		raw = append(raw, string(tool.Raw))
	}
	return raw
}

// Faults 29 and 33: all pages, in order, each tool as the bytes it was sent in.
func TestFault29CursorIsFollowed(t *testing.T) {
	for _, mode := range []string{"", fix.Paged} {
		c, _ := start(t, newFixture(t, mode).server, quickConfig())
		if diff := cmp.Diff(fix.PlainTools(), rawTools(t, c)); diff != "" {
			t.Errorf("mode %q (-want +got):\n%s", mode, diff)
		}
		if w := c.Health().Warning; w != "" {
			t.Errorf("mode %q: warning %q", mode, w)
		}
	}
}

// Fault 29: cursors that never end.
func TestFault29EndlessListIsCut(t *testing.T) {
	for mode, warning := range map[string]string{fix.EndlessCursor: "repeats its cursor", fix.GrowingCursor: "does not end"} {
		c, _ := start(t, newFixture(t, mode).server, quickConfig())
		if diff := cmp.Diff(fix.PlainTools()[:1], rawTools(t, c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
		if h := c.Health(); !strings.Contains(h.Warning, warning) && !strings.Contains(h.Warning, "second tool") {
			t.Errorf("%s: warning %q", mode, h.Warning)
		}
	}
}

// Fault 16: broken tools do not take the good ones with them.
func TestFault16BrokenToolsLeaveTheRest(t *testing.T) {
	c, _ := start(t, newFixture(t, fix.BadSchema).server, quickConfig())
	want := append([]string{`{"name":"broken","inputSchema":"no schema"}`}, fix.PlainTools()...)
	if diff := cmp.Diff(want, rawTools(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Health().Warning == "" {
		t.Error("no warning")
	}
}

// Fault 30: list_changed is obeyed, and told on.
func TestFault30ListChanged(t *testing.T) {
	changed := make(chan struct{}, 16)
	cfg := quickConfig()
	cfg.OnChange = func() { changed <- struct{}{} }
	c, _ := start(t, newFixture(t).server, cfg)
	if n := len(rawTools(t, c)); n != len(fix.PlainTools()) {
		t.Fatalf("%d tools at first", n)
	}
	<-changed
	mustCall(t, c, "change", `{}`)
	waitForTool(t, c, changed, "added", true)
}

// An unchanged list is no change: a restart with the same tools is silent.
func TestOnChangeIsForChangesOnly(t *testing.T) {
	changed := make(chan struct{}, 16)
	cfg := quickConfig()
	cfg.OnChange = func() { changed <- struct{}{} }
	f := newFixture(t)
	c, _ := start(t, f.server, cfg)
	rawTools(t, c)
	<-changed
	if _, err := call(t, c, "crash", `{}`); !isLost(err) {
		t.Fatal(err)
	}
	eventually(t, "the list to be read again", func() bool { return count(f.traced(t), `"tools/list"`) == 2 })
	mustCall(t, c, "change", `{}`)
	eventually(t, "the added tool", func() bool { return slices.ContainsFunc(mustList(t, c), named("added")) })
	if told := len(changed); told != 1 { // each list was told of before it could be seen
		t.Errorf("told of %d changes, want the added tool alone", told)
	}
}

func TestDigestsTellToolsApartAndAreStable(t *testing.T) {
	digests := map[string]string{}
	for _, tool := range mustTools(t) {
		if len(tool.Digest) != 64 || digests[tool.Digest] != "" {
			t.Errorf("digest %q of %s", tool.Digest, tool.Name)
		}
		digests[tool.Digest] = tool.Name
	}
	again := map[string]string{}
	for _, tool := range mustTools(t) {
		again[tool.Digest] = tool.Name
	}
	if diff := cmp.Diff(digests, again); diff != "" {
		t.Errorf("digests differ between runs:\n%s", diff)
	}
}

func mustTools(t *testing.T) []upstream.Tool {
	t.Helper()
	c, _ := start(t, newFixture(t).server, quickConfig())
	return mustList(t, c)
}

func mustList(t *testing.T, c *upstream.Client) []upstream.Tool {
	t.Helper()
	tools, err := c.Tools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func named(name string) func(upstream.Tool) bool {
	return func(tool upstream.Tool) bool { return tool.Name == name }
}

// Who was given a list can rely on OnChange having been told of it.
func TestOnChangeComesBeforeTheList(t *testing.T) {
	changing, changed := make(chan struct{}), make(chan struct{})
	cfg := quickConfig()
	cfg.OnChange = func() {
		close(changing)
		<-changed
	}
	c, _ := start(t, newFixture(t).server, cfg)
	given := make(chan error, 1)
	go func() {
		_, err := c.Tools(within(t))
		given <- err
	}()
	<-changing
	select {
	case err := <-given:
		t.Errorf("the list was given before OnChange had returned (%v)", err)
	case <-time.After(50 * time.Millisecond): // nothing tells of what must not happen
	}
	close(changed)
	if err := <-given; err != nil {
		t.Error(err)
	}
}
