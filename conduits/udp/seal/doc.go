// Package seal keeps strangers out of the datagrams of a job, or of those who share a key by
// their own arrangement. It knows keys, tags and replay windows; it sends nothing and knows
// nothing of what the datagrams mean.
//
// A job has one [Key], which its bootstrap carries to the ranks; others have it in a file
// ([ReadKey]). Each direction between two processes has a key of its own, derived from that key
// and both names (HKDF, RFC 5869). So no datagram can be turned back at its sender or passed
// on to a third process. Each datagram has a number that its sender never uses twice towards one
// receiver. The number is the nonce of the tag, and by it the receiver refuses datagrams that it
// has received before (RFC 4303, section 3.4.3).
//
// In mode [Auth] datagrams are authenticated, not hidden: AES-128-GMAC, which is AES-GCM with
// everything as additional data (NIST SP 800-38D), the cheapest tag there is on processors
// with AES and carry-less multiplication. A datagram is a head and a body, which lie apart in
// memory; each has a tag, and the body's is part of the head. So a long payload is sent from
// where it lies. In mode [Encrypt] all of the datagram but the first bytes of the head is
// encrypted by AES-128-GCM, into a buffer. Mode [None] does nothing.
//
// What is not protected: who talks to whom, when and how much; in mode Auth the content; in
// mode None anything. Whoever has the job's key can speak for any rank: the ranks of a job
// trust each other.
package seal
