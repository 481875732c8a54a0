package main

import (
	"testing"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

func TestMain(m *testing.M) {
	register()
	workertest.Main(m)
}
