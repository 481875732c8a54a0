package example

import (
	"testing"

	"github.com/solotick/solotick/internal/movetest"
	"github.com/solotick/solotick/internal/redistest"
)

var move = movetest.Move{Page: "redislock", Before: "before", After: "after", Prints: "counted the stock"}

func TestTheMoveChangesTheseLines(t *testing.T) { move.Check(t) }

func TestBothProgramsRun(t *testing.T) { move.Run(t, redistest.Start(t).URL()) }
