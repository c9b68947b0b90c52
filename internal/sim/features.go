package sim

// landed says which commands the machine carries out by now.
var landed = map[string]bool{
	"drain": true, "keys": true, "store": true, "external": true, "limits": true, "pause": true, "behaviors": true,
	"retry": true, "repeat": true, "again": true, "existing": true,
}
