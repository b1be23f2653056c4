// Package steerholm reads the data folder of a Steerholm installation and says
// the same in Holm's words: servers, agents, key hashes and policy rows, with a
// report of what is not quite the same and what could not be taken over.
//
// It only reads and translates. Storing the result, and asking before, belongs to
// whoever calls; so does the operating system's keyring, where old installations
// keep the hashes.
//
// # The formats
//
// They are those of Steerholm's own source (github.com/steerholm/steerholm:
// steerholm/models.py, config.py, permissions.py and migrations/, with their
// documentation in docs/reference). The file migrations/version holds the number
// of the schema; without it the number is 0.
//
//   - Schema 0 (releases 0.1.x): config.json with servers and agents (before 0.1.0
//     called identities); policies/<agent name>.json with agent_name (before
//     identity_name) and rules by server name; hashes in the keyring.
//   - Schema 1: servers and agents have ids; policies/<agent id>.json with agent_id
//     and rules by server id; hashes in the keyring.
//   - Schema 2: as 1, with each hash as key_hash in config.json.
//
// A state between two schemas, which an interrupted migration leaves, is refused.
//
// # Where the meanings differ
//
// No translated rule lets through what Steerholm would have refused, but for one
// thing: Holm compares paths and not their text, so both sides are cleaned first,
// dir/** includes dir and **/name includes name. Everything else that differs is
// narrower, and is reported where it bites:
//
//   - First match. In Steerholm the first rule whose tool pattern fits decides alone;
//     in Holm any row that matches is enough. A rule behind one that covers it is
//     left out, and one that overlaps with an earlier one takes over its conditions.
//   - * over /. Steerholm's code lets * cross a slash although its documentation says
//     that it does not; in Holm * stays within a path segment and ** crosses.
//   - Regular expressions. Steerholm looks at the beginning of the value; Holm at all
//     of it. An expression that ends in .* stays as it is and no longer admits a
//     further line; another one gets the rest of the value spelled out.
//   - Languages. What Python and RE2 read differently is left out.
//   - Values. Steerholm compares Python's spelling (True, None, ['a']); Holm JSON's,
//     and each element of an array. null is absent there, a value here.
package steerholm
