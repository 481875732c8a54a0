package proxytest

import (
	"bytes"
	"strconv"
	"strings"
)

// command has the first two words of a command, in upper case.
type command struct {
	name, sub string
}

// commandScanner finds commands in the bytes a client sends, however they are cut into pieces.
type commandScanner struct {
	line []byte   // an incomplete line
	args int      // arguments of the command under way that are still to come
	body int      // bytes of the argument under way that are still to come, with the line end after it
	word []byte   // what has come of it, when it is one of the first two
	said []string // the first words of the command under way
}

const (
	words   = 2  // of a command that are kept
	longest = 64 // bytes of a word that are kept
)

// scan reads on in p and returns the commands that it completes.
func (s *commandScanner) scan(p []byte) (found []command) {
	complete := func() {
		said := append(s.said, "", "")
		found = append(found, command{name: said[0], sub: said[1]})
		s.said = nil
	}
	for len(p) > 0 {
		if s.body > 0 {
			n := min(s.body, len(p))
			s.keep(p[:n])
			p, s.body = p[n:], s.body-n
			if s.body == 0 {
				s.endArgument()
				if s.args == 0 {
					complete()
				}
			}
			continue
		}
		var line string
		var ok bool
		if line, p, ok = nextLine(&s.line, p); !ok {
			return found
		}
		switch {
		case s.args > 0: // the length of an argument
			s.body = length(line) + len("\r\n")
		case strings.HasPrefix(line, "*"):
			s.args = length(line)
		default: // an inline command, as typed into telnet
			if fields := strings.Fields(strings.ToUpper(line)); len(fields) > 0 {
				s.said = fields[:min(len(fields), words)]
				complete()
			}
		}
	}
	return found
}

func (s *commandScanner) keep(p []byte) {
	if len(s.said) < words {
		s.word = append(s.word, p[:min(len(p), longest-min(longest, len(s.word)))]...)
	}
}

func (s *commandScanner) endArgument() {
	if len(s.said) < words {
		s.said = append(s.said, strings.ToUpper(strings.TrimSuffix(string(s.word), "\r\n")))
		s.word = s.word[:0]
	}
	s.args--
}

// replyScanner finds where replies begin in the bytes a server sends, in RESP2 and RESP3, however
// they are cut.
type replyScanner struct {
	line  []byte // an incomplete line
	parts int    // values of the reply under way that are still to come
	body  int    // bytes of the value under way that are still to come, with the line end after it
}

// scan reads on in p and calls begin at the start of each reply; push is true for messages that
// answer no command. When begin says stop, scan returns how many bytes of p come before that reply,
// otherwise all of them.
func (s *replyScanner) scan(p []byte, begin func(push bool) (stop bool)) int {
	whole := len(p)
	for len(p) > 0 {
		if s.body > 0 {
			n := min(s.body, len(p))
			p, s.body = p[n:], s.body-n
			continue
		}
		if s.parts == 0 {
			if begin(p[0] == '>') {
				return whole - len(p)
			}
			s.parts = 1
		}
		var line string
		var ok bool
		if line, p, ok = nextLine(&s.line, p); !ok {
			break
		}
		s.parts--
		if line == "" {
			continue
		}
		switch line[0] {
		case '$', '=', '!': // strings; a negative length is a null, without a body
			if !strings.HasPrefix(line[1:], "-") {
				s.body = length(line) + len("\r\n")
			}
		case '*', '~', '>':
			s.parts += length(line)
		case '%':
			s.parts += 2 * length(line)
		case '|': // attributes, and the value that they belong to
			s.parts += 2*length(line) + 1
		}
	}
	return whole
}

// nextLine takes a line off p, together with what partial holds of it, or puts all of p into
// partial.
func nextLine(partial *[]byte, p []byte) (line string, rest []byte, ok bool) {
	head, rest, ok := bytes.Cut(p, []byte("\n"))
	*partial = append(*partial, head...)
	if !ok {
		return "", nil, false
	}
	line = strings.TrimSuffix(string(*partial), "\r")
	*partial = (*partial)[:0]
	return line, rest, true
}

// length reads the number after a line's type byte; nonsense, which the server will refuse, counts
// as 0.
func length(line string) int {
	const most = 1 << 30
	if line == "" {
		return 0
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 || n > most {
		return 0
	}
	return n
}
