package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// refused are the names that nothing may be declared under, and the name to use: see
// docs/glossary.md.
var refused = map[string]string{
	"Occasion": "Tick", "occasion": "tick", "MaxOccasion": "MaxTick",
	"Mark": "Watermark", "Term": "TTL", "Left": "Remaining", "WithTerm": "WithTTL",
	"Keeper": "Renewer", "NewKeeper": "NewRenewer", "keeper": "renewer",
	"Roster": "Membership", "roster": "membership", "Announce": "SendHeartbeat", "Heard": "LastHeartbeat",
	"Ruled": "PauseChanged", "Tell": "Notify", "Ticket": "WaiterTTL", "Turn": "Order", "Noted": "JournalEntry",
	"Guard": "Supervisor, or Fence", "crew": "workers", "tally": "a count with its unit", "charge": "process", "ward": "process",
	"bury": "kill", "slay": "kill", "condemn": "kill", "patient": "timeout", "patiently": "a timeout", "often": "minInterval",
	"blind": "a name with its unit", "besides": "a name with its unit", "absence": "outage", "heardOf": "reported",
	"limiter": "timeout", "unwanted": "abandoned", "ears": "subscribers", "ear": "subscriber", "anew": "again",
}

// parts are refused within a name: of a case of the suite of stores, for example.
var parts = map[*regexp.Regexp]string{
	regexp.MustCompile(`Occasion`):               "Tick",
	regexp.MustCompile(`TheMark\b|TheMark[A-Z]`): "TheWatermark",
	regexp.MustCompile(`Anew\b|Anew[A-Z]`):       "Again, or WrittenBack",
	regexp.MustCompile(`Told\b|Told[A-Z]`):       "Notified, or Reported",
}

// phrases are refused in comments.
var phrases = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\bno replica lives\b`):            "no replica is alive",
	regexp.MustCompile(`(?i)\b(is|are|was|were) told of\b`):   "is notified of",
	regexp.MustCompile(`(?i)\bha(s|ve) heard of\b`):           "knows",
	regexp.MustCompile(`(?i)\bwhoever\b`):                     "the caller, the replica that",
	regexp.MustCompile(`(?i)\b(written|writes|write) anew\b`): "written back",
}

func TestNamesAndPhrasesAreThoseOfTheGlossary(t *testing.T) {
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "archtest/words_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range declared(file) {
			if better := refused[name.Name]; better != "" {
				t.Errorf("%s: %s: use %s", files.Position(name.Pos()), name.Name, better)
			}
			for part, better := range parts {
				if found := part.FindString(name.Name); found != "" {
					t.Errorf("%s: %s: use %s in place of %s", files.Position(name.Pos()), name.Name, better, found)
				}
			}
		}
		for name, doc := range documented(file) {
			if first := firstWord.FindString(doc); first != "" && first != name.Name {
				t.Errorf("%s: the comment of %s begins with %s", files.Position(name.Pos()), name.Name, first)
			}
		}
		for _, group := range file.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			for phrase, better := range phrases {
				if found := phrase.FindString(text); found != "" {
					t.Errorf("%s: %q: use %q", files.Position(group.Pos()), found, better)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// firstWord is the first word of a comment that may be a name which is not exported. The linters know the others.
var firstWord = regexp.MustCompile(`^[a-z][A-Za-z]*\b`)

// documented returns the comments of a file's functions and types.
func documented(file *ast.File) map[*ast.Ident]string {
	list := map[*ast.Ident]string{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := d.Name.Name; !strings.HasPrefix(name, "Example") && !strings.HasPrefix(name, "Test") {
				list[d.Name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && d.Lparen == token.NoPos {
					list[s.Name] = d.Doc.Text()
				}
			}
		}
	}
	return list
}

// declared returns the names that a file declares.
func declared(file *ast.File) (names []*ast.Ident) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, x := range n.Lhs {
					if name, ok := x.(*ast.Ident); ok {
						names = append(names, name)
					}
				}
			}
		}
		return true
	})
	return names
}
