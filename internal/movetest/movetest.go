// Package movetest checks a move to Solotick that docs/migrate describes: two programs, before and
// after it, their lines, and that both run.
package movetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/proctest"
)

// Move is a move to Solotick. The programs are the main.go of two directories.
type Move struct {
	Page          string // of docs/migrate, without its suffix
	Diff          int    // which diff of the page; 0 is the first
	Before, After string
	Most          int    // so many lines may come; 0: as many as it takes
	Prints        string // by both, when they do their work
}

// Check compares the programs with docs/migrate. The overview has their lines, and how many go and
// come. The page's diff has the lines that go and come, in their order, and around them whatever makes
// it readable.
func (m Move) Check(t *testing.T) {
	t.Helper()
	before, after := program(t, m.Before), program(t, m.After)
	changed := diff(before, after)
	gone := len(slices.DeleteFunc(slices.Clone(changed), func(line string) bool { return line[0] == '+' }))
	come := len(changed) - gone
	if m.Most > 0 && come > m.Most {
		t.Errorf("%d lines come, must be at most %d", come, m.Most)
	}
	row := fmt.Sprintf("](%s.md) | ", m.Page)
	counts := fmt.Sprintf(" | %d | %d | %d | %d |\n", len(before), len(after), gone, come)
	said := false
	for line := range strings.Lines(page(t, "README")) {
		said = said || strings.Contains(line, row) && strings.HasSuffix(line, counts)
	}
	if !said {
		t.Errorf("docs/migrate/README.md has no row with %q and %q", row, strings.TrimSpace(counts))
	}
	diffs := strings.Split(page(t, m.Page), "```diff\n")[1:]
	if len(diffs) <= m.Diff {
		t.Fatalf("docs/migrate/%s.md has %d diffs", m.Page, len(diffs))
	}
	shown, _, _ := strings.Cut(diffs[m.Diff], "```")
	var lines []string
	for line := range strings.Lines(shown) {
		if line[0] == '-' || line[0] == '+' {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return len(line) == 1 }) // an empty line
	if !slices.Equal(lines, changed) {
		t.Errorf("the diff in docs/migrate/%s.md is not that of the programs, which is\n%s", m.Page, strings.Join(changed, "\n"))
	}
}

// page returns the text of a page of docs/migrate.
func page(t *testing.T, name string) string {
	t.Helper()
	for dir := "."; ; dir = filepath.Join("..", dir) {
		text, err := os.ReadFile(filepath.Join(dir, "docs", "migrate", name+".md"))
		if err == nil {
			return string(text)
		}
		if strings.Count(dir, "..") > 10 {
			t.Fatal(err)
		}
	}
}

// Run builds both programs, and others, and runs them, one after the other, with REDIS_URL and
// REDIS_ADDR in their environment. Each must print what the move says, and end without an error at
// SIGTERM.
func (m Move) Run(t *testing.T, redisURL string, others ...string) {
	t.Helper()
	programs := append([]string{m.Before, m.After}, others...)
	bin := t.TempDir()
	build := []string{"build", "-ldflags=-s -w", "-o", bin}
	for _, dir := range programs {
		build = append(build, "./"+dir)
	}
	if out, err := exec.CommandContext(t.Context(), "go", build...).CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", build, err, out)
	}
	for _, dir := range programs {
		run(t, filepath.Join(bin, filepath.Base(dir)), redisURL, m.Prints)
	}
}

func run(t *testing.T, path, redisURL, prints string) {
	t.Helper()
	printed := &output{want: prints, found: make(chan struct{})}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "REDIS_URL="+redisURL, "REDIS_ADDR="+strings.TrimSuffix(strings.TrimPrefix(redisURL, "redis://"), "/0"))
	cmd.Stdout, cmd.Stderr = printed, printed
	p, err := proctest.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	await := func(event <-chan struct{}, what string) {
		t.Helper()
		select {
		case <-event:
		case <-time.After(time.Minute):
			t.Fatalf("it does not %s; it printed:\n%s", what, printed)
		}
	}
	await(printed.found, "print "+prints)
	_ = p.Signal(syscall.SIGTERM)
	await(p.Done(), "end")
	if p.Err() != nil {
		t.Fatalf("it ended with %v; it printed:\n%s", p.Err(), printed)
	}
}

// output keeps what a program prints. found is closed when want is in it.
type output struct {
	want  string
	found chan struct{}

	mu   sync.Mutex
	text strings.Builder
	once sync.Once
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if strings.Contains(o.text.String(), o.want) {
		o.once.Do(func() { close(o.found) })
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
