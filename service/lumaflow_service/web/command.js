// The curl command on the empty page, and buttons that copy a text.

/** Writes the command that sends a first frame to this service into `element`. */
export function showCommand(element) {
  const root = new URL(".", location.href).href;
  element.textContent = [
    "curl --data-binary @dark.jpg -H 'Content-Type: image/jpeg' \\",
    `  -o bright.jpg ${root}v1/sources/camera/frames`,
  ].join("\n");
}

/** Makes `button` copy the text of `text`; the result is announced in `status`. */
export function addCopyButton({ text, button, status }) {
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      [status.textContent, button.textContent] = ["Copied.", "Copied"];
    } catch {
      getSelection().selectAllChildren(text); // the clipboard needs https: select the text instead
      [status.textContent, button.textContent] = ["Selected. Press Ctrl+C to copy.", "Press Ctrl+C"];
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}
