# A template: `make release` fills in the version and the checksums, and writes dist/interlock.rb.
class Interlock < Formula
  desc "Safety controller for data pipelines"
  homepage "https://github.com/interlock-go/interlock"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/interlock-go/interlock/releases/download/v@VERSION@/interlock_@VERSION@_darwin_arm64.tar.gz"
      sha256 "@SHA256_darwin_arm64@"
    end
    on_intel do
      url "https://github.com/interlock-go/interlock/releases/download/v@VERSION@/interlock_@VERSION@_darwin_amd64.tar.gz"
      sha256 "@SHA256_darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/interlock-go/interlock/releases/download/v@VERSION@/interlock_@VERSION@_linux_arm64.tar.gz"
      sha256 "@SHA256_linux_arm64@"
    end
    on_intel do
      url "https://github.com/interlock-go/interlock/releases/download/v@VERSION@/interlock_@VERSION@_linux_amd64.tar.gz"
      sha256 "@SHA256_linux_amd64@"
    end
  end

  def install
    bin.install "interlock"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/interlock.bash" => "interlock"
    zsh_completion.install "completions/_interlock"
    fish_completion.install "completions/interlock.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/interlock --version")
  end
end
