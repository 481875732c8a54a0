package redislease

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInterestLastsAsLongAsItIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterest()
		i.note("early", time.Minute)
		i.note("over", time.Second)
		time.Sleep(time.Second)
		n := i.follow()
		<-n.some
		require.Equal(t, []string{"early"}, i.take(n))
		i.note("job", time.Minute)
		i.note("job", time.Second) // does not shorten it
		i.note("early", time.Hour)
		<-n.some
		require.Equal(t, []string{"job"}, i.take(n)) // each once
		time.Sleep(time.Minute - time.Nanosecond)
		require.True(t, i.lasts("job", time.Now()))
		time.Sleep(time.Nanosecond)
		require.False(t, i.lasts("job", time.Now()))
		require.True(t, i.lasts("early", time.Now()))
		i.note("job", time.Second) // it is one again
		<-n.some
		require.Equal(t, []string{"job"}, i.take(n))
		i.unfollow(n)
		i.note("another", time.Second)
		require.Empty(t, i.take(n))
	})
}

func TestInterestThatHasEndedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterest()
		for n := range 10_000 {
			i.note(fmt.Sprint("kept", n%50), time.Minute)
			i.note(fmt.Sprint("job", n), time.Millisecond)
			time.Sleep(time.Millisecond)
			require.LessOrEqual(t, len(i.ends), 2*52+101)
		}
		var none *interest
		none.note("job", time.Second) // there is none but on Cluster
	})
}
