package jobs

// ZoneRules is zoneRules, for the tests of another package.
var ZoneRules = zoneRules
