// Package crontab turns a crontab into jobs of a configuration. It reads the format of cronie, Vixie
// cron and Debian's cron: crontab(5).
package crontab

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/solotick/solotick/jobs/schedule"
)

// Options say how a crontab is read.
type Options struct {
	System   bool   // each line names a user before the command, as in /etc/crontab and /etc/cron.d
	Timezone string // of schedules above any CRON_TZ
}

// Result is what became of a crontab.
type Result struct {
	Jobs     []Job
	Warnings []string // what a job does not do as cron did, by line
	Faults   []string // lines that make no job
}

// Job is a job of the configuration.
type Job struct {
	Name     string `yaml:"name"`
	Schedule string `yaml:"schedule"`
	Timezone string `yaml:"timezone,omitempty"`
	Jitter   string `yaml:"jitter,omitempty"`
	Exec     Exec   `yaml:"exec"`
}

// Exec is the command of a job.
type Exec struct {
	Command []string          `yaml:"command,flow"`
	Dir     string            `yaml:"dir,omitempty"`
	Env     map[string]string `yaml:"env,omitempty"`
}

// Write writes the jobs as a configuration.
func (r Result) Write(w io.Writer) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(map[string][]Job{"jobs": r.Jobs}); err != nil {
		return err
	}
	return encoder.Close()
}

// reader is the state of a crontab from one line to the next.
type reader struct {
	Options
	result Result
	line   int
	shell  string
	dir    string
	delay  string // of RANDOM_DELAY, in minutes
	env    map[string]string
	names  map[string]int // how many jobs would have a name
}

// Read reads a crontab. The error is that of the reader, or that no crontab has such a line.
func Read(from io.Reader, o Options) (Result, error) {
	r := reader{Options: o, shell: "/bin/sh", env: map[string]string{}, names: map[string]int{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.line++
		if bytes.IndexByte(lines.Bytes(), 0) >= 0 {
			return Result{}, fmt.Errorf("line %d: has a NUL, so it is no crontab", r.line)
		}
		r.read(strings.TrimLeft(strings.TrimSuffix(lines.Text(), "\r"), " \t"))
	}
	return r.result, lines.Err()
}

func (r *reader) fault(format string, args ...any) {
	r.result.Faults = append(r.result.Faults, fmt.Sprintf("line %d: ", r.line)+fmt.Sprintf(format, args...))
}

func (r *reader) warn(format string, args ...any) {
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf("line %d: ", r.line)+fmt.Sprintf(format, args...))
}

var setting = regexp.MustCompile(`^(?:"([^"=]+)"|'([^'=]+)'|([A-Za-z_]\w*))\s*=\s*(.*)$`)

func (r *reader) read(line string) {
	if line == "" || line[0] == '#' {
		return
	}
	if m := setting.FindStringSubmatch(line); m != nil {
		value := strings.TrimRight(m[4], " \t")
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		r.set(m[1]+m[2]+m[3], value)
		return
	}
	r.job(line)
}

func (r *reader) set(name, value string) {
	switch name {
	case "SHELL":
		r.shell = value
	case "HOME":
		r.dir = value
	case "CRON_TZ":
		r.Timezone = value
	case "RANDOM_DELAY":
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			r.fault("RANDOM_DELAY: %q must be a number of minutes", value)
		} else if r.delay = ""; n > 0 {
			r.delay = value + "m"
		}
	case "MAILTO", "MAILFROM":
		if value != "" {
			r.warn("%s: Solotick sends no mail of a command's output: see notifications", name)
		}
	default:
		next := map[string]string{name: escape(value)}
		for other, text := range r.env { // jobs above keep theirs
			if other != name {
				next[other] = text
			}
		}
		r.env = next
	}
}

// escape keeps a configuration from replacing what a shell is to replace.
func escape(s string) string { return strings.ReplaceAll(s, "${", "$${") }

func (r *reader) job(line string) {
	line = strings.TrimPrefix(line, "-") // of cron's own log
	fields := 5
	if line[0:min(1, len(line))] == "@" {
		fields = 1
	}
	if r.System {
		fields++
	}
	words, command := split(line, fields)
	if command == "" {
		r.fault("%q must have %d fields and a command", line, fields)
		return
	}
	if r.System {
		if user := words[fields-1]; user != "" {
			r.warn("it ran as %s: run the worker as that user", user)
		}
		words = words[:fields-1]
	}
	spec := strings.Join(words, " ")
	if strings.EqualFold(spec, "@reboot") {
		r.fault("@reboot: no schedule is due when a machine starts: %s", command)
		return
	}
	command, stdin := cutStdin(command)
	name := r.name(command)
	if stdin != "" {
		command = "printf %s " + quote(stdin) + " | { " + command + "\n}"
	}
	spec = tilde.ReplaceAllString(spec, "H($1-$2)")
	if _, err := schedule.Parse(spec, nil, name); err != nil {
		r.fault("%q: %v", spec, err)
		return
	}
	r.result.Jobs = append(r.result.Jobs, Job{
		Name: name, Schedule: spec, Timezone: r.Timezone, Jitter: r.delay,
		Exec: Exec{Command: []string{r.shell, "-c", escape(command)}, Dir: escape(r.dir), Env: r.env},
	})
}

// tilde is a random value of a range, which cronie draws when it reads the file.
var tilde = regexp.MustCompile(`(\d+)~(\d+)`)

// split returns the first n words of a line, and the rest.
func split(line string, n int) (words []string, rest string) {
	for range n {
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			return words, ""
		}
		words, line = append(words, line[:end]), strings.TrimLeft(line[end:], " \t")
	}
	return words, strings.TrimRight(line, " \t")
}

// cutStdin returns what cron runs, and what it writes to the command: what follows the first percent
// sign, of which further ones are line ends. A backslash takes that meaning from one.
func cutStdin(text string) (command, stdin string) {
	var parts []string
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '%':
			b.WriteByte('%')
			i++
		case text[i] == '%':
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteByte(text[i])
		}
	}
	parts = append(parts, b.String())
	if len(parts) > 1 {
		stdin = strings.Join(parts[1:], "\n") + "\n"
	}
	return strings.TrimRight(parts[0], " \t"), stdin
}

// quote quotes a text for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var (
	unnamed = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	// wrappers are commands that run another one.
	wrappers = []string{"sudo", "nice", "ionice", "chronic", "time", "exec", "env", "nohup", "setsid", "flock", "timeout", "test", "cd", "sleep", "sh", "bash", "command", "python", "python3", "perl", "ruby", "node", "php"}
)

// name makes a name of the first program of a command that says what it does. No two jobs have the
// same.
func (r *reader) name(command string) string {
	name := ""
	for _, part := range regexp.MustCompile(`&&|\|\||[;|\n]`).Split(command, -1) {
		locks := false
		for word := range strings.FieldsSeq(part) {
			word = strings.Trim(word, `"'(){}[]`)
			base := strings.TrimSuffix(strings.TrimSuffix(path.Base(word), ".sh"), ".py")
			if word == "" || word[0] == '-' || strings.Contains(word, "=") || slices.Contains(wrappers, base) || strings.Trim(base, "0123456789.smhd") == "" {
				locks = locks || base == "flock"
				continue
			}
			if locks { // the file of the lock
				locks = false
				continue
			}
			name = strings.Trim(unnamed.ReplaceAllString(base, "-"), "-._")
			break
		}
		first, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		if name != "" && first != "cd" && first != "test" && first != "[" {
			break
		}
		name = ""
	}
	if name == "" {
		name = fmt.Sprintf("line-%d", r.line)
	}
	name = name[:min(len(name), 100)]
	if r.names[name]++; r.names[name] > 1 {
		return r.unique(name)
	}
	return name
}

func (r *reader) unique(name string) string {
	for n := r.names[name]; ; n++ {
		if other := fmt.Sprintf("%s-%d", name, n); r.names[other] == 0 {
			r.names[other]++
			return other
		}
	}
}
