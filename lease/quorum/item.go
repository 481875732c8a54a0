package quorum

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// item is the value of a key's register. Its list has the newest entries; see [archive] for the
// others.
type item struct {
	driver.Item
	Keep  time.Duration `json:",omitzero"` // for how long it is kept when nobody touches it; 0 for ever
	Moved int           `json:",omitzero"` // how many entries went from the list to the archive
}

// readItem reads what a register holds. The leases end by the quorum's clock of now.
func readItem(at reading) (*item, error) {
	it := new(item)
	if err := decode(at.value, it); err != nil {
		return nil, err
	}
	for i := range it.Value.Leases {
		l := &it.Value.Leases[i]
		l.Ends = l.Ends.Add(at.shift)
	}
	return it, nil
}

func (it *item) encode() (string, error) {
	text, err := json.Marshal(it)
	return string(text), err
}

// decode reads the value of a register; "" leaves the target alone.
func decode(value string, target any) error {
	if value == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(value), target); err != nil {
		return fmt.Errorf("%w: a register: %w", errReply, err)
	}
	return nil
}
