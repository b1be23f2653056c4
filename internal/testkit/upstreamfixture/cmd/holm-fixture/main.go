// Command holm-fixture is the fixture server on stdio. Its options are the
// environment variables FIXTURE_MODES (comma-separated), FIXTURE_LOG,
// FIXTURE_TRACE and FIXTURE_STATE.
package main

import (
	"os"

	"holm/internal/testkit/upstreamfixture"
)

func main() {
	upstreamfixture.RunIfAsked()
	os.Exit(upstreamfixture.Main())
}
