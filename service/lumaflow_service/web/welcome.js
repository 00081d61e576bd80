// What to do when there is no source yet: one command, ready to copy.

/** Writes the command for this very address into `command`. */
export function welcome(command) {
  const root = new URL(".", location.href).href;
  command.textContent = [
    "curl --data-binary @dark.jpg -H 'Content-Type: image/jpeg' \\",
    `  -o bright.jpg ${root}v1/sources/camera/frames`,
  ].join("\n");
}

/** Lets `button` copy what stands in `text`; `said` says so. */
export function copyable({ text, button, said }) {
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(text); // no clipboard without https: leave it marked
      said.textContent = "Marked; press Ctrl+C to copy.";
    }
    button.textContent = said.textContent.startsWith("Copied") ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}
