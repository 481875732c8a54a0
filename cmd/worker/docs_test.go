package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

const repository = "../.."

// page is a Markdown file: its path from the root of the repository, and its lines.
type page struct {
	path  string
	lines []string
}

// pages are the Markdown files that say what holds today: not the changelog, and not the decisions.
func pages(t *testing.T) (all []page) {
	err := filepath.WalkDir(repository, func(file string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(file, repository+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || name == "docs/adr" || name == "dist"):
			return fs.SkipDir
		case filepath.Ext(name) != ".md" || name == "CHANGELOG.md":
			return nil
		}
		text, err := os.ReadFile(file)
		all = append(all, page{name, strings.Split(string(text), "\n")})
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 15)
	return all
}

var (
	spans    = regexp.MustCompile("`([^`]+)`")
	comments = regexp.MustCompile(`(^|\s)#.*`)
)

// code returns what a page shows as code, a line or a span at a time, and the lines of its prose.
func (p page) code() (texts, prose []string) {
	fenced := false
	for _, line := range p.lines {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
		case fenced || strings.HasPrefix(line, "    "):
			texts = append(texts, strings.TrimSpace(comments.ReplaceAllString(trimmed, "")))
		default:
			prose = append(prose, line)
			for _, span := range spans.FindAllStringSubmatch(line, -1) {
				texts = append(texts, strings.TrimSpace(comments.ReplaceAllString(span[1], "")))
			}
		}
	}
	return texts, prose
}

var (
	workerCalls = regexp.MustCompile(`^(?:(?:\./)?(?:bin/)?worker|go run \./cmd/worker) ([a-z-]+)(.*)$`)
	flags       = regexp.MustCompile(`--([a-z][a-z-]+)`)
)

func TestCommandsOfTheDocsExist(t *testing.T) {
	help := map[string]string{} // of each command
	found := 0
	for _, p := range pages(t) {
		texts, _ := p.code()
		for _, text := range texts {
			call := workerCalls.FindStringSubmatch(text)
			if call == nil {
				continue
			}
			found++
			if _, ok := help[call[1]]; !ok {
				r := workertest.Do(t, nil, call[1], "--help")
				if r.Code != 0 || !strings.Contains(r.Stdout, "worker "+call[1]) {
					t.Errorf("%s: %q: there is no command %s", p.path, text, call[1])
					continue
				}
				help[call[1]] = r.Stdout
			}
			for _, flag := range flags.FindAllStringSubmatch(call[2], -1) {
				if !regexp.MustCompile(`--` + flag[1] + `\b`).MatchString(help[call[1]]) {
					t.Errorf("%s: %q: %s has no flag --%s", p.path, text, call[1], flag[1])
				}
			}
		}
	}
	require.Greater(t, found, 30)
}

var (
	targets   = regexp.MustCompile(`(?m)^([a-z-]+):`)
	makeCalls = regexp.MustCompile(`^(?:[A-Z]+=\S+ )*make (?:-\w+ )*([a-z-]+)\b`)
)

func TestMakeTargetsOfTheDocsExist(t *testing.T) {
	text, err := os.ReadFile(repository + "/Makefile")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, target := range targets.FindAllStringSubmatch(string(text), -1) {
		known[target[1]] = true
	}
	require.True(t, known["test"])
	found := 0
	for _, p := range pages(t) {
		texts, _ := p.code()
		for _, text := range texts {
			if call := makeCalls.FindStringSubmatch(text); call != nil {
				found++
				require.True(t, known[call[1]], "%s: %q: the Makefile has no %s", p.path, text, call[1])
			}
		}
	}
	require.Greater(t, found, 5)
}

var goCalls = regexp.MustCompile(`^(?:cd ([\w/]+) && )?go (?:-C (\S+) )?(?:run|test|build)\b.*?\s\./(\S*)`)

func TestPackagesOfTheDocsExist(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		texts, _ := p.code()
		for _, text := range texts {
			call := goCalls.FindStringSubmatch(text)
			if call == nil {
				continue
			}
			found++
			dir := path.Join(repository, call[1], call[2], strings.TrimSuffix(call[3], "..."))
			sources, err := filepath.Glob(dir + "/*.go")
			require.NoError(t, err)
			require.NotEmpty(t, sources, "%s: %q: %s has no Go files", p.path, text, dir)
		}
	}
	require.Greater(t, found, 10)
}

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`^#+ (.*)$`)
	dropped  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

func TestLinksOfTheDocsLeadSomewhere(t *testing.T) {
	anchors := map[string]map[string]bool{} // of each page
	for _, p := range pages(t) {
		anchors[p.path] = map[string]bool{}
		for _, line := range p.lines {
			if heading := headings.FindStringSubmatch(line); heading != nil {
				text := dropped.ReplaceAllString(strings.ToLower(heading[1]), "")
				anchors[p.path][strings.ReplaceAll(text, " ", "-")] = true
			}
		}
	}
	for _, p := range pages(t) {
		_, prose := p.code()
		for _, link := range links.FindAllStringSubmatch(strings.Join(prose, "\n"), -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := p.path
			if target != "" {
				to = path.Join(path.Dir(p.path), target)
			}
			if _, err := os.Stat(filepath.Join(repository, to)); err != nil {
				t.Errorf("%s: %s: there is no such file", p.path, link[1])
			} else if on := anchors[to]; anchor != "" && on != nil && !on[anchor] {
				t.Errorf("%s: %s: the page has no such heading", p.path, link[1])
			}
		}
	}
}

func TestEveryExampleIsInItsReadme(t *testing.T) {
	text, err := os.ReadFile(repository + "/examples/README.md")
	require.NoError(t, err)
	entries, err := os.ReadDir(repository + "/examples")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.Name() != "README.md" && !strings.Contains(entry.Name(), ".db") { // of make run
			require.Regexp(t, `\]\(`+regexp.QuoteMeta(entry.Name())+`[/)]`, string(text))
		}
	}
}
