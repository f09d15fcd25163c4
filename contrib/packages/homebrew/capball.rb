# brew install --HEAD ./contrib/packages/homebrew/capball.rb, in a clone. A release adds url and sha256 of its archive.
class Capball < Formula
  desc "Maps Euclidean vectors to the unit sphere, where balls are caps"
  license "Apache-2.0"
  head File.expand_path("../../..", __dir__), using: :git

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkg-config" => :build
  depends_on "hdf5"
  depends_on "zstd"
  uses_from_macos "zlib"

  def install
    system "cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DCPB_WERROR=OFF", "-DCPB_HNSW=OFF", *std_cmake_args
    system "ninja", "-C", "build", "all"
    system "cmake", "--install", "build"
  end

  test do
    system bin/"capball", "demo", "-o", testpath/"demo.html"
    assert_predicate testpath/"demo.html", :exist?
  end
end
