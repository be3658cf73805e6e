//go:build full

package component_test

// compositions are all legal sets of protocols, with Traced besides. The length of an array must be a constant: so each is here.
var compositions = []composition{
	of[[128]byte](), of[[129]byte](), of[[130]byte](), of[[131]byte](),
	of[[132]byte](), of[[133]byte](), of[[134]byte](), of[[135]byte](),
	of[[136]byte](), of[[137]byte](), of[[138]byte](), of[[139]byte](),
	of[[140]byte](), of[[141]byte](), of[[142]byte](), of[[143]byte](),
	of[[144]byte](), of[[145]byte](), of[[146]byte](), of[[147]byte](),
	of[[148]byte](), of[[149]byte](), of[[150]byte](), of[[151]byte](),
	of[[152]byte](), of[[153]byte](), of[[154]byte](), of[[155]byte](),
	of[[156]byte](), of[[157]byte](), of[[158]byte](), of[[159]byte](),
	of[[192]byte](), of[[193]byte](), of[[194]byte](), of[[195]byte](),
	of[[196]byte](), of[[197]byte](), of[[198]byte](), of[[199]byte](),
	of[[200]byte](), of[[201]byte](), of[[202]byte](), of[[203]byte](),
	of[[204]byte](), of[[205]byte](), of[[206]byte](), of[[207]byte](),
	of[[208]byte](), of[[209]byte](), of[[210]byte](), of[[211]byte](),
	of[[212]byte](), of[[213]byte](), of[[214]byte](), of[[215]byte](),
	of[[216]byte](), of[[217]byte](), of[[218]byte](), of[[219]byte](),
	of[[220]byte](), of[[221]byte](), of[[222]byte](), of[[223]byte](),
	of[[224]byte](), of[[225]byte](), of[[226]byte](), of[[227]byte](),
	of[[228]byte](), of[[229]byte](), of[[230]byte](), of[[231]byte](),
	of[[232]byte](), of[[233]byte](), of[[234]byte](), of[[235]byte](),
	of[[236]byte](), of[[237]byte](), of[[238]byte](), of[[239]byte](),
	of[[240]byte](), of[[241]byte](), of[[242]byte](), of[[243]byte](),
	of[[244]byte](), of[[245]byte](), of[[246]byte](), of[[247]byte](),
	of[[248]byte](), of[[249]byte](), of[[250]byte](), of[[251]byte](),
	of[[252]byte](), of[[253]byte](), of[[254]byte](), of[[255]byte](),
}
