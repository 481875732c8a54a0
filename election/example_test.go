package election_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// Two members campaign; when the first resigns the second leads, with a higher token.
func Example() {
	ctx, store := context.Background(), new(memlease.Store) // redislease.New in production
	one, two := lock.New(store, lock.WithHolder("one")), lock.New(store, lock.WithHolder("two"))
	defer one.Close()
	defer two.Close()

	first, err := election.New(one, "primary").Campaign(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	leader, err := election.New(two, "primary").Leader(ctx)
	fmt.Println(leader.Member, "leads", err)

	elected := make(chan *election.Leadership)
	go func() {
		second, err := election.New(two, "primary").Campaign(ctx) // waits
		if err != nil {
			fmt.Println(err)
		}
		elected <- second
	}()
	fmt.Println("one resigns:", first.Resign(ctx))
	second := <-elected
	fmt.Println("two leads, with a higher token:", second.Token() > first.Token())
	fmt.Println("two resigns:", second.Resign(ctx))

	_, err = election.New(one, "primary").Leader(ctx)
	fmt.Println("nobody leads:", errors.Is(err, election.ErrNoLeader))
	// Output:
	// one leads <nil>
	// one resigns: <nil>
	// two leads, with a higher token: true
	// two resigns: <nil>
	// nobody leads: true
}

// Lead is all that most services need: it leads whenever this member is elected, until its context ends.
func ExampleElection_Lead() {
	locks := lock.New(new(memlease.Store))
	defer locks.Close()
	ctx, stop := context.WithCancel(context.Background())

	err := election.New(locks, "primary", lock.WithTTL(5*time.Second)).Lead(ctx, func(ctx context.Context, token int64) error {
		fmt.Println("leads; the token is positive:", token > 0)
		stop()       // the service shuts down
		<-ctx.Done() // return when the context ends: another may lead from then on
		return nil
	})
	fmt.Println(err)
	// Output:
	// leads; the token is positive: true
	// context canceled
}

// Observe follows who leads.
func ExampleElection_Observe() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	locks := lock.New(new(memlease.Store), lock.WithHolder("one"))
	defer locks.Close()
	primary := election.New(locks, "primary")

	var leadership *election.Leadership
	for leader, err := range primary.Observe(ctx) {
		switch {
		case errors.Is(err, election.ErrNoLeader) && leadership == nil:
			fmt.Println("nobody leads")
			leadership, err = primary.Campaign(ctx)
			if err != nil {
				fmt.Println(err)
				return
			}
		case errors.Is(err, election.ErrNoLeader):
			fmt.Println("nobody leads any more")
			return
		case err != nil:
			fmt.Println(err)
			return
		default:
			fmt.Println(leader.Member, "leads")
			_ = leadership.Resign(ctx)
		}
	}
	// Output:
	// nobody leads
	// one leads
	// nobody leads any more
}
