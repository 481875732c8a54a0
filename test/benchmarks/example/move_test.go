package example

import (
	"testing"

	"github.com/solotick/solotick/internal/movetest"
	"github.com/solotick/solotick/internal/redistest"
)

var move = movetest.Move{Page: "redis_rate", Before: "before", After: "after", Prints: "called the partner"}

func TestTheMoveChangesTheseLines(t *testing.T) { move.Check(t) }

func TestBothProgramsRun(t *testing.T) { move.Run(t, redistest.Start(t).URL()) }
