# cmake -DINPUT=file -DOUTPUT=file.cpp -DHEADER=io/x.h -DNAME=kName -P EmbedFile.cmake: the octets of a file as a
# constant of the namespace io.
file(READ "${INPUT}" octets HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," octets "${octets}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" octets
  "${octets}")
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace io {

namespace {

alignas(16) constexpr unsigned char kOctets[] = {
${octets}
};

}  // namespace

const std::span<const std::byte> ${NAME} = std::as_bytes(std::span(kOctets));

}  // namespace io
")
