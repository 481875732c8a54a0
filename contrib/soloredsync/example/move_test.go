package example

import (
	"testing"

	"github.com/solotick/solotick/internal/movetest"
	"github.com/solotick/solotick/internal/redistest"
)

var move = movetest.Move{Page: "redsync", Before: "before", After: "after", Prints: "handed out a number"}

func TestTheMoveChangesTheseLines(t *testing.T) { move.Check(t) }

func TestBothProgramsRun(t *testing.T) { move.Run(t, redistest.Start(t).URL()) }
