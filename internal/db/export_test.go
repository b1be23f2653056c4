package db

// The migrations with steps of the test's own, and the rule about versions.
var (
	MigrateSteps   = migrate
	DownSteps      = down
	RequireVersion = requireVersion
	ErrTooOld      = errTooOld
	UnderLock      = underLock
)
