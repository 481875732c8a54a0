package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// unreadable finds the first place in data that no YAML can have. The parser refuses it too, but
// cannot say where.
func unreadable(data []byte) (line, column int, rule string, ok bool) {
	line, column = 1, 1
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		switch {
		case c == utf8.RuneError && size == 1:
			return line, column, fmt.Sprintf("has the byte 0x%02x, which is not UTF-8; save the file as UTF-8", data[0]), false
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0xFFFE, c == 0xFFFF:
			return line, column, fmt.Sprintf("has the control character U+%04X; remove it", c), false
		case c == '\n':
			line, column = line+1, 1
		case c == '\ufeff' && line == 1 && column == 1: // a byte order mark takes no column
		default:
			column++
		}
		data = data[size:]
	}
	return 0, 0, "", true
}

// syntax notes that data is not YAML, where, and what people usually meant.
func (r *reader) syntax(err error, data []byte) {
	line, column := 1, 1
	message := err.Error()
	hint := ""
	if loadErr, ok := errors.AsType[*yaml.LoadError](err); ok {
		message = loadErr.Message
		mark, context := loadErr.Mark, loadErr.ContextMark
		if mark.Line == 0 {
			mark = context
		}
		if mark.Line > 0 {
			line, column = mark.Line, max(1, mark.Column)
		}
		if loadErr.ContextMsg != "" {
			message = loadErr.ContextMsg + ": " + message
			if context.Line > 0 && context != mark {
				message = fmt.Sprintf("%s (it starts at %d:%d)", message, context.Line, context.Column)
			}
		}
		if hint = syntaxHint(data, context.Line, context.Column); hint == "" {
			hint = syntaxHint(data, line, column)
		}
		if hint == "" && strings.Contains(loadErr.ContextMsg, "flow") && bytes.Contains(lineOf(data, line), []byte("${")) {
			hint = `; within { } and [ ] write "${NAME}", in quotes`
		}
	}
	r.add(line, column, "", "", "is not YAML: "+message+hint)
}

// syntaxHint explains the character at a place where the parser stumbled.
func syntaxHint(data []byte, line, column int) string {
	text := []rune(string(lineOf(data, line)))
	if column < 1 || column > len(text) {
		return ""
	}
	switch c := text[column-1]; c {
	case '\t':
		return "; indent with spaces, not tabs"
	case '*', '&', '@', '`', '%':
		return fmt.Sprintf(`; a value that starts with %c must be in quotes, such as "@hourly" or "*/5 * * * *"`, c)
	}
	return ""
}

func lineOf(data []byte, line int) []byte {
	for range line - 1 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	data, _, _ = bytes.Cut(data, []byte("\n"))
	return data
}
