package config

import "strings"

const commandShape = `a list of strings, such as [./report.sh, --full] or [sh, -c, "…"]`

// exec reads a job's program. What it returns is sound only if no fault was noted.
func (r *reader) exec(v value) *Exec {
	e := &Exec{KillGrace: defaultKillGrace}
	hasCommand := false
	ok := r.fields(v, keys{
		"command":    func(v value) { hasCommand = true; e.Command = r.command(v) },
		"dir":        func(v value) { r.argument(v, &e.Dir) },
		"env":        func(v value) { e.Env = r.variables(v) },
		"kill_grace": func(v value) { r.durationWithin(v, &e.KillGrace, 0, 0) },
	})
	if ok && !hasCommand {
		r.missing(v, "command", "add "+commandShape)
	}
	return e
}

func (r *reader) command(v value) []string {
	items, ok := r.list(v, commandShape)
	if !ok {
		return nil
	}
	command := make([]string, len(items))
	for i, item := range items {
		if r.argument(item, &command[i]) && i == 0 && command[i] == "" {
			r.fault(item, "must name a program")
		}
	}
	if len(items) == 0 {
		r.fault(v, "is empty; write %s", commandShape)
	}
	return command
}

// argument reads a string that the operating system is to be given.
func (r *reader) argument(v value, to *string) bool {
	t, ok := r.text(v, "a string")
	if strings.ContainsRune(t.string, 0) {
		r.fault(v, "must not hold the character U+0000")
		return false
	}
	if ok {
		*to = t.string
	}
	return ok
}

func (r *reader) variables(v value) map[string]string {
	v.secret = true
	var env map[string]string
	r.dictionary(v, func(e entry, text string) {
		switch {
		case e.key == "" || strings.ContainsAny(e.key, "=\x00"):
			r.wrongKey(e, "must be a name of an environment variable, without = in it")
		case strings.HasPrefix(e.key, "SOLOTICK_"):
			r.wrongKey(e, "is set for each run, as all names with SOLOTICK_ are; choose another name")
		case strings.ContainsRune(text, 0):
			r.fault(e.value, "must not hold the character U+0000")
		}
		env = with(env, e.key, text)
	})
	return env
}
