package example

import (
	"testing"

	"github.com/solotick/solotick/internal/movetest"
	"github.com/solotick/solotick/internal/redistest"
)

// Twelve names, the constructor, and two imports.
var move = movetest.Move{Page: "robfig", Before: "before", After: "after", Most: 15, Prints: "polled the inbox"}

func TestTwelveJobsMoveInFifteenLines(t *testing.T) { move.Check(t) }

func TestBothServicesRun(t *testing.T) { move.Run(t, redistest.Start(t).URL()) }
