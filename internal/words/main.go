// Command words counts, in the comments of this repository's Go files, the words that readers
// stumble over. It fails when there are more of a kind than its limit allows.
//
//	scripts/words.sh          # all of the repository
//	scripts/words.sh -each    # and each package with its worst lines
package main

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// kind is a group of words that are counted together.
type kind struct {
	name  string
	match *regexp.Regexp
	most  float64 // per 10,000 words of comments
}

// kinds has the limits. The last two have none: they are what the others should have become.
var kinds = []kind{
	{"tell, told, hear, heard", words("tells?", "telling", "told", "hears?", "heard", "hearing"), 2},
	{"what is, what was", words("what (is|was|are|were)", "(is|was) what"), 5},
	{"whoever, those who, who has", words("whoever", "whomever", "those who", "who has"), 1},
	{"anew", words("anew"), 0},
	{"notify, signal, publish, subscribe", words("notif(y|ies|ied|ying|ications?)", "signal(s|s|led|ed|ling)?", "broadcasts?", "publish(es|ed)?", "subscri(be|bes|bed|ption|ptions)"), 1e4},
	{"retry", words("retr(y|ies|ied|ying)"), 1e4},
}

func words(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + strings.Join(patterns, "|") + `)\b`)
}

// count is what the comments of one package, or of all, hold.
type count struct {
	words int
	hits  []int // by kind
	lines []string
}

func main() {
	each := flag.Bool("each", false, "show each package, and each line that counts against a limit")
	flag.Parse()
	counts, err := scan(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	if *each {
		show(counts)
	}
	if over := report(counts); over > 0 {
		fmt.Fprintln(os.Stderr, "words: too many; docs/glossary.md has the words to use, and -each shows the lines")
		os.Exit(1)
	}
}

// scan counts by directory.
func scan(root string) (map[string]*count, error) {
	counts := map[string]*count{}
	return counts, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "words"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		return scanFile(counts, path)
	})
}

func scanFile(counts map[string]*count, path string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	c := counts[filepath.Dir(path)]
	if c == nil {
		c = &count{hits: make([]int, len(kinds))}
		counts[filepath.Dir(path)] = c
	}
	for _, group := range file.Comments {
		text := strings.Join(strings.Fields(group.Text()), " ")
		c.words += len(strings.Fields(text))
		for k, kind := range kinds {
			found := kind.match.FindAllStringIndex(text, -1)
			c.hits[k] += len(found)
			for _, at := range found {
				if kind.most < 1e4 {
					around := text[max(0, at[0]-40):min(len(text), at[1]+40)]
					c.lines = append(c.lines, fmt.Sprintf("%s: …%s…", files.Position(group.Pos()), around))
				}
			}
		}
	}
	return nil
}

// show prints what each package has.
func show(counts map[string]*count) {
	for _, dir := range sorted(counts) {
		c := counts[dir]
		fmt.Printf("%s: %d words, %v\n", dir, c.words, c.hits)
		for _, line := range c.lines {
			fmt.Println("\t" + line)
		}
	}
}

// report prints the table of all packages together and returns how many limits are passed.
func report(counts map[string]*count) (over int) {
	total := count{hits: make([]int, len(kinds))}
	for _, c := range counts {
		total.words += c.words
		for k, n := range c.hits {
			total.hits[k] += n
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "words of comments\t%d\tper 10,000\tat most\n", total.words)
	for k, kind := range kinds {
		rate := float64(total.hits[k]) * 1e4 / float64(max(total.words, 1))
		most := "-"
		if kind.most < 1e4 {
			most = fmt.Sprint(kind.most)
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%.1f\t%s\n", kind.name, total.hits[k], rate, most)
		if rate > kind.most {
			over++
		}
	}
	_ = table.Flush()
	return over
}

func sorted(counts map[string]*count) []string {
	var dirs []string
	for dir := range counts {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}
