package main

import (
	"testing"

	"github.com/solotick/solotick/internal/movetest"
	"github.com/solotick/solotick/internal/redistest"
)

var move = movetest.Move{Page: "asynq", Before: "before", After: "after", Prints: "invoices are due"}

func TestTheMoveChangesTheseLines(t *testing.T) { move.Check(t) }

func TestBothProgramsRun(t *testing.T) { move.Run(t, redistest.Start(t).URL()) }
