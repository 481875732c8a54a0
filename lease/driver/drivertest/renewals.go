package drivertest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

func renewal(f *fixture) {
	first := f.grant(time.Minute)
	before := f.now()
	require.Equal(f, driver.Done, f.renew(first.Stamp, "a"))
	v := f.read()
	require.Equal(f, first, v.Version)
	require.Equal(f, "held", string(v.Data))
	require.WithinRange(f, v.Leases[0].Ends, before.Add(time.Hour-time.Millisecond), f.now().Add(kept(time.Hour)))
}

func renewalRefused(f *fixture) {
	first := f.grant(time.Hour)
	require.Equal(f, driver.Conflict, f.renew(first.Stamp-1, "a"))
	require.Equal(f, driver.Conflict, f.renew(first.Stamp, "b"))
	require.Equal(f, driver.Conflict, f.do(driver.Op{Key: "other", Renew: &driver.Renewal{Token: 1, Holder: "a", TTL: time.Hour}}).Status)
	f.change(key, driver.Change{From: first, Data: []byte("to end"), Stop: []int64{first.Stamp}})
	res := f.do(driver.Op{Key: key, Renew: &driver.Renewal{Token: first.Stamp, Holder: "a", TTL: time.Hour}})
	require.Equal(f, driver.Conflict, res.Status)
	require.Equal(f, "to end", string(res.Value.Data))
	require.Equal(f, []string{fmt.Sprint(first.Stamp, " a stopped")}, holders(res.Value))
}

func lateRenewal(f *fixture) {
	first := f.grant(5 * time.Millisecond)
	f.outlast()
	require.Equal(f, driver.Done, f.renew(first.Stamp, "a"))
	res := f.try(driver.Change{From: first, Data: []byte("lost"), Ended: []int64{first.Stamp}})
	require.Equal(f, driver.Conflict, res.Status)
}
