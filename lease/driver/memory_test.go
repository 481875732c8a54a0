package driver_test

import (
	"testing"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	drivertest.Run(t, func(*testing.T) driver.Store { return new(driver.Memory) })
}
