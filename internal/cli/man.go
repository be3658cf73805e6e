package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand returns the hidden command that writes the man pages of a program.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "write the man pages into a folder, in man1 and man7", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return Misuse{errors.New("man: want the folder for the pages")}
			}
			var err error
			all(root, func(c *cobra.Command) {
				if err == nil && !c.Hidden {
					err = writePage(c, args[0])
				}
			})
			return err
		},
	}
}

// writePage writes the page of a command, or of a topic, which is in section 7.
func writePage(c *cobra.Command, dir string) error {
	section := "1"
	if isTopic(c) {
		section = "7"
	}
	dir = filepath.Join(dir, "man"+section)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, pageName(c)+"."+section), md2man.Render([]byte(page(c, section))), 0o644)
}

// pageName is what a page is called: aqbench-am.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page returns a page in Markdown.
func page(c *cobra.Command, section string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %q %q \"\" \"Aqueduct\" \"Aqueduct\"\n\n# NAME\n\n%s - %s\n\n", strings.ToUpper(pageName(c)), section, pageName(c), markdown(c.Short))
	if section == "1" {
		b.WriteString("# SYNOPSIS\n\n    " + strings.Join(usageLines(c), "\n    ") + "\n\n")
	}
	fmt.Fprintf(&b, "# DESCRIPTION\n\n%s\n\n", paragraphs(about(c)))
	if section == "1" {
		for _, g := range groups(c) {
			heading, _, _ := strings.Cut(g.heading, " (") // and where help has more
			fmt.Fprintf(&b, "# %s\n\n", strings.ToUpper(heading))
			g.flags.VisitAll(func(f *pflag.Flag) { b.WriteString(option(f)) })
		}
	}
	var also []string
	for _, sub := range c.Commands() {
		if in := "1"; !sub.Hidden {
			if isTopic(sub) {
				in = "7"
			}
			also = append(also, fmt.Sprintf("**%s**(%s)", pageName(sub), in))
		}
	}
	if c.HasParent() {
		also = append(also, fmt.Sprintf("**%s**(1)", pageName(c.Parent())))
	}
	fmt.Fprintf(&b, "# SEE ALSO\n\n%s\n", strings.Join(also, ", "))
	return b.String()
}

// option returns the item of an option in a list of definitions.
func option(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	head := "**--" + f.Name + "**"
	if f.Shorthand != "" {
		head = "**-" + f.Shorthand + "**, " + head
	}
	if name != "" {
		head += " *" + markdown(name) + "*"
	}
	if !slices.Contains(noDefaults, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	return fmt.Sprintf("%s\n: %s\n\n", head, markdown(usage))
}

// noDefaults are defaults that go without saying.
var noDefaults = []string{"", "0", "[]", "false"}

// markdown returns a text as Markdown that stands for it.
var markdown = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "|", `\|`).Replace

// paragraphs returns a text of paragraphs as Markdown; indented lines are taken as they are.
func paragraphs(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "    ") {
			lines[i] = markdown(line)
		}
	}
	return strings.Join(lines, "\n")
}
