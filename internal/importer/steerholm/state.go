package steerholm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

const (
	configFile  = "config.json"
	versionFile = "migrations/version"
	policiesDir = "policies"
	// newestSchema is the last schema of which this package knows the format.
	newestSchema = 2
	// maxFile bounds a file of the folder: it is written by hand or by one grant
	// after the other.
	maxFile = 16 << 20
)

// state is the folder as it stands, decoded no further than its schema tells.
type state struct {
	schema   int
	servers  map[string]json.RawMessage
	agents   map[string]json.RawMessage
	policies map[string][]byte // by file name without .json
	broken   map[string]error  // policy files that could not be read
}

// config is config.json.
type config struct {
	Servers    map[string]json.RawMessage `json:"servers"`
	Agents     map[string]json.RawMessage `json:"agents"`
	Identities map[string]json.RawMessage `json:"identities"` // agents before 0.1.0
	Audit      json.RawMessage            `json:"audit"`      // retention of Steerholm's own log
}

func readState(dir fs.FS) (*state, error) {
	if err := refuseUnfinished(dir); err != nil {
		return nil, err
	}
	schema, err := readSchema(dir)
	if err != nil {
		return nil, err
	}
	text, err := readFile(dir, configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("no config.json in this folder")
	}
	if err != nil {
		return nil, err
	}
	var c config
	if err := decode(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, err)
	}
	if c.Identities != nil && (c.Agents != nil || schema > 0) {
		return nil, fmt.Errorf("%s: identities is the name of agents before 0.1.0 and cannot stand beside agents or in schema %d", configFile, schema)
	}
	if c.Agents == nil {
		c.Agents = c.Identities
	}
	s := &state{schema: schema, servers: c.Servers, agents: c.Agents}
	return s, s.readPolicies(dir)
}

// refuseUnfinished stops at what a running or interrupted migration leaves: the
// files may then be of two schemas.
func refuseUnfinished(dir fs.FS) error {
	for _, pattern := range []string{".migrating.lock", ".migrating-v*", ".displaced-v*"} {
		found, err := fs.Glob(dir, pattern)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("%s says that a migration of Steerholm has not ended: let it finish with Steerholm's own `holm migrate`", found[0])
		}
	}
	return nil
}

var schemaNumber = regexp.MustCompile(`^[0-9]{1,6}$`)

func readSchema(dir fs.FS) (int, error) {
	text, err := readFile(dir, versionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	word := strings.TrimSpace(string(text))
	if !schemaNumber.MatchString(word) {
		return 0, fmt.Errorf("%s holds no schema number", versionFile)
	}
	schema, err := strconv.Atoi(word)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", versionFile, err)
	}
	if schema > newestSchema {
		return 0, fmt.Errorf("the state is of schema %d; known are 0 to %d", schema, newestSchema)
	}
	return schema, nil
}

func (s *state) readPolicies(dir fs.FS) error {
	s.policies, s.broken = map[string][]byte{}, map[string]error{}
	files, err := fs.Glob(dir, policiesDir+"/*.json")
	if err != nil {
		return err
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, policiesDir+"/"), ".json")
		text, err := readFile(dir, file)
		if err != nil {
			s.broken[name] = err
			continue
		}
		s.policies[name] = text
	}
	return nil
}

func readFile(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	return text, nil
}
