// What to do when there is no source yet: one command, ready to copy.

/** Writes the command for this very address into `command`; `button` copies it and `said` says so. */
export function welcome({ command, button, said }) {
  const root = new URL(".", location.href).href;
  command.textContent = [
    "curl --data-binary @dark.jpg -H 'Content-Type: image/jpeg' \\",
    `  -o bright.jpg ${root}v1/sources/camera/frames`,
  ].join("\n");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(command); // no clipboard without https: leave it marked
      said.textContent = "Marked; press Ctrl+C to copy.";
    }
    button.textContent = said.textContent.startsWith("Copied") ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}
