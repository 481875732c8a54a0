package joined

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsTakesJoinsApart(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	whole := fmt.Errorf("read: %w", a)
	for name, test := range map[string]struct {
		err  error
		want []error
	}{
		"nil":             {nil, nil},
		"single":          {a, []error{a}},
		"wrapped":         {whole, []error{whole}},
		"join":            {errors.Join(a, nil, b), []error{a, b}},
		"nested":          {errors.Join(a, errors.Join(b, c)), []error{a, b, c}},
		"wrapped join":    {fmt.Errorf("jobs: %w", errors.Join(whole, b)), []error{whole, b}},
		"several wrapped": {fmt.Errorf("%w, then %w", a, b), []error{a, b}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, Errors(test.err)) })
	}
}
