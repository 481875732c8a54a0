package redislease

import "github.com/solotick/solotick/lease/driver"

// Medium is what a store keeps its values on.
func Medium(s *Store) driver.Store { return s.values }
