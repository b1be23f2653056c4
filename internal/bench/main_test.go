package bench

import (
	"testing"

	"holm/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
