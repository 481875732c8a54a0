package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	onlyReferences = regexp.MustCompile(`^(\$\{[A-Za-z_][A-Za-z0-9_]*\})+$`)
)

// common matches the variables that are no secret, whatever value refers to them.
var common = regexp.MustCompile(`^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_[A-Z]+|TZ|TMPDIR|HOSTNAME)$`)

// secretEnv is the environment of values that errors hide. It notes the variables that they refer
// to.
func (r *reader) secretEnv(name string) (string, bool) {
	if !common.MatchString(name) {
		r.secrets[name] = true
	}
	return r.env(name)
}

// expand replaces each reference ${NAME} or ${NAME:-default} in s, and each $${ by ${. What it puts
// in is not looked at again. As in a POSIX shell, the default takes the place of a variable that is
// unset or empty. All that is wrong with s comes back joined, without any variable's value.
func expand(s string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	var faults []error
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(s)
			break
		}
		if strings.HasSuffix(before, "$") {
			b.WriteString(before + "{")
			s = after
			continue
		}
		b.WriteString(before)
		reference, rest, closed := strings.Cut(after, "}")
		if !closed {
			faults = append(faults, errors.New("has a ${ without its }; for ${ itself write $${"))
			break
		}
		replacement, err := lookUp(reference, env)
		if err != nil {
			faults = append(faults, err)
		}
		b.WriteString(replacement)
		s = rest
	}
	return b.String(), errors.Join(faults...)
}

func lookUp(reference string, env func(string) (string, bool)) (string, error) {
	name, otherwise, hasDefault := strings.Cut(reference, ":-")
	if !variableName.MatchString(name) {
		return "", errors.New("has a reference that is neither ${NAME} nor ${NAME:-default}; for ${ itself write $${")
	}
	if strings.Contains(otherwise, "${") {
		return "", fmt.Errorf("has a reference within the default of ${%s:-…}; references do not nest", name)
	}
	if value, set := env(name); set && (value != "" || !hasDefault) {
		return value, nil
	}
	if hasDefault {
		return otherwise, nil
	}
	return "", fmt.Errorf("names the environment variable %s, which is not set; set it, or write ${%s:-default}", name, name)
}
