package movetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program returns the lines of a program that count: neither empty nor a comment.
func program(t *testing.T, dir string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if bare := strings.TrimSpace(line); bare != "" && !strings.HasPrefix(bare, "//") {
			lines = append(lines, line)
		}
	}
	return lines
}

// diff returns the lines that go, after a -, and those that come, after a +: as few as can be.
func diff(before, after []string) (changed []string) {
	common := make([][]int, len(before)+1) // the most lines that the rest of both has in common
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := range slices.Backward(before) {
		for j := range slices.Backward(after) {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			i++
			j++
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			changed = append(changed, "-"+before[i])
			i++
		default:
			changed = append(changed, "+"+after[j])
			j++
		}
	}
	return changed
}
