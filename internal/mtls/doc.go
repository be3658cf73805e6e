// Package mtls makes streams between processes that share a key: authenticated in both directions and encrypted, by TLS 1.3
// of the standard library.
//
// Both ends derive one Ed25519 key pair from the shared Key (HKDF, RFC 5869), present a certificate of it, and accept no
// other (RFC 8446, section 4.4; the certificate's names and times say nothing and are not looked at, since clocks of hosts
// differ). So who has the key is let in, and a man in the middle has neither end. The exchange of ephemeral keys gives each
// stream keys of its own: what was recorded cannot be replayed, nor read by who learns the Key later. There are no
// session tickets and no early data.
//
// A Listener's strangers cost little and keep nobody out. They have HandshakeTime and handshakeBytes to prove themselves, and when
// more than maxPending are at it the one that came first is sent away: who has the key needs milliseconds.
package mtls
