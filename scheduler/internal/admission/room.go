package admission

// Room is what one job holds of a [Capacity]. It claims nothing without room for the run: it takes
// the room before the claim, and holds it until the answer. A run that was granted takes it over, and
// gives it back when its handler has returned.
type Room struct {
	*Capacity
	waiter *Waiter // nil where there is no limit
	short  int64   // when the oldest tick was due that found no room since the job rested; 0 when none did
	held   int32   // for claims whose answer is not known, and from runs that are to be replaced
	heirs  int32   // runs that are not settled, and whose room it has
}

// NewRoom returns the room of a job, which holds none. w waits for it, where there is a limit.
func NewRoom(k *Capacity, w *Waiter) Room {
	if k.Max == 0 {
		w = nil
	}
	return Room{Capacity: k, waiter: w}
}

// Acquire reports whether the job has room for the run of a tick that came due then. If not, its
// waiter is woken when there is some.
func (r *Room) Acquire(due int64, weight int) bool {
	if r.held > 0 {
		return true
	}
	if r.short != 0 {
		due = min(due, r.short)
	}
	if !r.Capacity.Acquire(r.waiter, due, weight) {
		r.short = due
		return false
	}
	r.held = int32(weight) //nolint:gosec // at most limits.MaxWeight
	return true
}

// IsShort reports whether a tick has found no room since the job rested.
func (r *Room) IsShort() bool { return r.short != 0 }

// NotShort notes that no tick is known to need room.
func (r *Room) NotShort() { r.short = 0 }

// HandOver hands the room over to a run that was granted, and returns how much that is.
func (r *Room) HandOver(weight int) int {
	held := int(r.held)
	r.held = 0
	switch {
	case held == 0: // two claims whose answers were lost had been granted
		r.Take(weight)
	case held > weight:
		r.Release(held - weight)
	default:
		return held
	}
	return weight
}

// Inherit takes the room of a run whose handler has returned. Bequeathed must be called when the run
// is settled.
func (r *Room) Inherit(room int) {
	r.held += int32(room) //nolint:gosec // at most limits.MaxWeight
	r.heirs++
}

// Bequeathed notes the settlement of a run whose room was inherited.
func (r *Room) Bequeathed() { r.heirs-- }

// IsOffered reports whether the job has room that it must use or return. pending reports that a
// request of it is under way.
func (r *Room) IsOffered(pending bool) bool {
	return r.waiter != nil && (r.waiter.Offered.Load() || r.held > 0 && r.heirs == 0 && !pending)
}

// Rest returns what the job does not need while it rests. It keeps its place in the queue if a tick
// has just found no room. It keeps the room if a claim may have been granted, or will be made when
// the run that had the room is settled.
func (r *Room) Rest(claims bool) {
	if r.short == 0 {
		r.Leave()
	}
	if r.held > 0 && r.heirs == 0 && !claims {
		r.Release(int(r.held))
		r.held = 0
	}
}

// Leave gives up the job's place in the queue.
func (r *Room) Leave() { r.Withdraw(r.waiter) }
