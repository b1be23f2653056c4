package db

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// unavailableStates are SQLSTATE codes that speak of the server and not of the statement; see
// PostgreSQL's Appendix A. Class 08, connection exceptions, counts as a whole.
var unavailableStates = map[string]bool{
	"53300": true, // too_many_connections
	"57P01": true, // admin_shutdown
	"57P02": true, // crash_shutdown
	"57P03": true, // cannot_connect_now
	"57P05": true, // idle_session_timeout
}

// IsUnavailable reports whether err means that the database could not be reached or went away,
// so that the same call may succeed later. Answers to a statement are not that, nor is a caller who
// went away or whose deadline passed while a statement ran.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if answer := new(pgconn.PgError); errors.As(err, &answer) && !isConnect(err) {
		return strings.HasPrefix(answer.Code, "08") || unavailableStates[answer.Code]
	}
	var network *net.OpError
	return isConnect(err) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, pgconn.ErrConnClosed)
}

func isConnect(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect)
}
