// Runs before the page is painted, so that a chosen theme does not flash: the only script that is not a module.
(function () {
  try {
    const chosen = localStorage.getItem("modlm-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage is refused (private windows): the system's theme it is.
  }
})();
