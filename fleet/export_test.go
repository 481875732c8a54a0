package fleet

// DefinitionsOf names the journal of a job's definitions.
var DefinitionsOf = definitionsOf
