package settings

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fileName is the settings file in the data folder.
const fileName = "holm.yaml"

// readFile reads the settings file: the one that is named, which must exist,
// or the data folder's, which need not.
func (s *Settings) readFile(variables map[string]string) error {
	path, named := variables[configVariable], true
	if path == "" {
		dir, err := dataDir(variables["HOLM_DATA_DIR"])
		if err != nil {
			return err
		}
		path, named = filepath.Join(dir, fileName), false
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	if err != nil {
		return unusable("settings file", "%v", err)
	}
	return s.readYAML(path, text)
}

func (s *Settings) readYAML(path string, text []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(s)
	if errors.Is(err, io.EOF) {
		return nil // an empty file
	}
	if err != nil {
		return unusable(path, "%s", yamlProblem(err))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return unusable(path, "holds more than one document")
	}
	return nil
}

var (
	yamlUnknown = regexp.MustCompile(`line (\d+): field (.+) not found in type`)
	yamlLine    = regexp.MustCompile(`line \d+`)
)

// yamlProblem says what is wrong without the values that the library quotes:
// they may be secrets.
func yamlProblem(err error) string {
	if own := new(Error); errors.As(err, &own) {
		return own.Error()
	}
	if found := yamlUnknown.FindStringSubmatch(err.Error()); found != nil {
		return "line " + found[1] + ": there is no setting " + found[2]
	}
	line := yamlLine.FindString(err.Error())
	if mistyped := new(yaml.TypeError); errors.As(err, &mistyped) {
		return strings.TrimPrefix(line+": this value cannot be used here", ": ")
	}
	return strings.TrimPrefix(line+": this is not YAML", ": ")
}
