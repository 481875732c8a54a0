package proxytest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pieces cuts s anywhere, as a network does.
func pieces(t *rapid.T, s string) (cut []string) {
	for s != "" {
		n := rapid.IntRange(1, min(len(s), 20)).Draw(t, "piece")
		cut = append(cut, s[:n])
		s = s[n:]
	}
	return cut
}

// nasty are strings that look like protocol.
var nasty = rapid.OneOf(rapid.String(), rapid.StringMatching(`([*$>%|+:][0-9]\r\n|\r|\n|GET){0,4}`))

func TestCommandsAreFoundHoweverTheyAreCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent strings.Builder
		var want []command
		for range rapid.IntRange(1, 5).Draw(t, "commands") {
			name := rapid.StringMatching(`[a-zA-Z]{1,70}`).Draw(t, "name")
			kept := strings.ToUpper(name[:min(len(name), longest)])
			switch rapid.IntRange(0, 2).Draw(t, "form") {
			case 0:
				fmt.Fprintf(&sent, "%s\r\n", name[:min(len(name), longest)])
				want = append(want, command{name: kept})
			case 1:
				fmt.Fprintf(&sent, "\r\n%s sub\r\n", name[:min(len(name), longest)])
				want = append(want, command{name: kept, sub: "SUB"})
			default:
				args := rapid.SliceOfN(nasty, 0, 4).Draw(t, "args")
				fmt.Fprintf(&sent, "*%d\r\n$%d\r\n%s\r\n$3\r\nsub\r\n", 2+len(args), len(name), name)
				for _, a := range args {
					fmt.Fprintf(&sent, "$%d\r\n%s\r\n", len(a), a)
				}
				want = append(want, command{name: kept, sub: "SUB"})
			}
		}
		var s commandScanner
		var got []command
		for _, p := range pieces(t, sent.String()) {
			got = append(got, s.scan([]byte(p))...)
		}
		require.Equal(t, want, got)
	})
}

// reply draws a RESP value, nested at most depth deep.
func reply(t *rapid.T, depth int) string {
	forms := 7
	if depth > 0 {
		forms = 11
	}
	n := rapid.IntRange(0, 3).Draw(t, "parts")
	parts := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(reply(t, depth-1))
		}
		return b.String()
	}
	switch rapid.IntRange(0, forms-1).Draw(t, "form") {
	case 0:
		return "+OK\r\n"
	case 1:
		return "-ERR no\r\n"
	case 2:
		return ":42\r\n"
	case 3:
		return "_\r\n"
	case 4:
		return "$-1\r\n"
	case 5:
		return "*-1\r\n"
	case 6:
		s := nasty.Draw(t, "string")
		return fmt.Sprintf("%s%d\r\n%s\r\n", rapid.SampledFrom([]string{"$", "=", "!"}).Draw(t, "type"), len(s), s)
	case 7:
		return fmt.Sprintf("*%d\r\n", n) + parts(n)
	case 8:
		return fmt.Sprintf("~%d\r\n", n) + parts(n)
	case 9:
		return fmt.Sprintf("%%%d\r\n", n) + parts(2*n)
	default:
		return fmt.Sprintf("|%d\r\n", n) + parts(2*n+1)
	}
}

func TestRepliesAreFoundHoweverTheyAreCut(t *testing.T) {
	type mark struct {
		offset int
		push   bool
	}
	rapid.Check(t, func(t *rapid.T) {
		var sent string
		var want, got []mark
		for range rapid.IntRange(1, 5).Draw(t, "replies") {
			push := rapid.Bool().Draw(t, "push")
			want = append(want, mark{len(sent), push})
			if push {
				sent += ">2\r\n$7\r\nmessage\r\n" + reply(t, 2)
			} else {
				sent += reply(t, 3)
			}
		}
		stopAt := rapid.IntRange(0, len(want)).Draw(t, "stop") // len(want) stands for never
		var s replyScanner
		passed := 0
		for _, p := range pieces(t, sent) {
			n := s.scan([]byte(p), func(push bool) bool {
				got = append(got, mark{push: push})
				return len(got) == stopAt+1
			})
			passed += n
			if n < len(p) {
				break
			}
		}
		end := len(sent)
		if stopAt < len(want) {
			end = want[stopAt].offset
			want = want[:stopAt+1]
		}
		require.Equal(t, end, passed)
		require.Len(t, got, len(want))
		for i := range got {
			require.Equal(t, want[i].push, got[i].push)
		}
	})
}

func FuzzScannersTakeAnything(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$-1\r\n"))
	f.Add([]byte("*99999999999999999999\r\n$9223372036854775807\r\n"))
	f.Add([]byte("|9223372036854775807\r\n%1073741824\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		var commands commandScanner
		var replies replyScanner
		for _, half := range [][]byte{p[:len(p)/2], p[len(p)/2:]} {
			commands.scan(half)
			n := replies.scan(half, func(bool) bool { return false })
			require.Equal(t, len(half), n)
			require.GreaterOrEqual(t, min(commands.args, commands.body, replies.parts, replies.body), 0)
		}
	})
}
