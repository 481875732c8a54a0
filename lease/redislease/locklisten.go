package redislease

import (
	"context"
	"errors"
	"strings"
)

func (s *store) queueChannel() string { return "solotick:" + s.namespace + ":line" }

const notificationSuffix = ":told"

// lockChannel is the channel of a name on Cluster, which is in the slot of the name's keys. The
// empty name has one as well.
func (s *store) lockChannel(name string) string {
	if name == "" {
		return s.fleetKey(notificationSuffix)
	}
	return s.key(name) + notificationSuffix
}

// lockChannelName is the name of a channel of lockChannel.
func (s *store) lockChannelName(channel string) string {
	name := strings.TrimSuffix(channel, "}"+notificationSuffix)
	name, _ = strings.CutPrefix(name, "solotick:{"+s.namespace)
	return strings.TrimPrefix(name, ":")
}

// errMoved is why a channel is subscribed to again.
var errMoved = errors.New("another server keeps the channel")

// Listen implements [protocol.Store]. On Cluster it notifies only of the locks that are of
// interest to this store. They are those claimed with a WaiterTTL, while it lasts and a second
// longer, and those shown by Lock, for five seconds. It calls wake with the name, and no requests,
// once it has subscribed to a lock's channel.
func (s *store) Listen(ctx context.Context, wake func(name string, requests []string)) error {
	if s.router.cluster != nil {
		return newSubscribers(s, wake).run(ctx)
	}
	return s.subscribe(ctx, s.queueChannel(), "listen", func(message string) {
		name, requests, _ := strings.Cut(message, " ")
		wake(name, strings.Fields(requests))
	})
}
